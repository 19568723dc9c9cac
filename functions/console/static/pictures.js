// Pictures in a message: a press puts one where the cursor was last in the body; a file is uploaded first.
"use strict";

const MOST_BYTES = 1024 * 1024;
const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];

function pictures(part) {
  const body = document.getElementById("body");
  const zone = part.querySelector(".drop");
  const thumbs = part.querySelector(".thumbs");
  const [input, alt, add, said] = ["file", "alt", "add", "said"].map((name) => document.getElementById(`picture-${name}`));
  let file = null;
  zone.hidden = false;

  function insert(data) {
    const format = document.querySelector("[name=format]:checked");
    const text = format && format.value === "markdown" ? data.markdown : data.html;
    body.setRangeText(text, body.selectionStart, body.selectionEnd, "end");
    body.dispatchEvent(new Event("input", { bubbles: true }));
    said.textContent = "The picture is in the message.";
    body.focus();
  }

  function choose(files) {
    [file] = files;
    const known = file && KINDS.includes(file.type);
    if (!known) said.textContent = "That is no PNG, JPEG, GIF or WebP file.";
    else if (file.size > MOST_BYTES) said.textContent = "The picture has more than 1 MB. Make it smaller.";
    else {
      said.textContent = `${file.name} is chosen. Say what it shows, then upload it.`;
      alt.focus();
      return;
    }
    file = null;
  }

  function thumb(data) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.html = data.html;
    button.dataset.markdown = data.markdown;
    button.setAttribute("aria-label", `Put this picture into the message: ${data.says}`);
    const image = new Image();
    image.alt = "";
    image.src = `${part.dataset.pictures}/../../../${data.path}`;
    button.append(image);
    for (const same of thumbs.querySelectorAll("button")) if (same.dataset.html === data.html) same.parentElement.remove();
    const item = document.createElement("li");
    item.append(button);
    thumbs.prepend(item);
    thumbs.hidden = false;
  }

  async function upload() {
    if (!file) {
      said.textContent = "Choose a picture first.";
      input.focus();
      return;
    }
    const values = new FormData();
    values.append("csrf", part.dataset.csrf);
    values.append("alt", alt.value);
    values.append("file", file);
    said.textContent = `${file.name} is being uploaded.`;
    add.disabled = true;
    try {
      const data = await ask(part.dataset.pictures, values);
      thumb(data);
      file = null;
      input.value = alt.value = "";
      insert(data);
    } catch (fault) {
      said.textContent = fault instanceof Failure ? fault.message : "Something went wrong.";
      if (!(fault instanceof Failure)) throw fault;
    } finally {
      add.disabled = false;
    }
  }

  input.addEventListener("change", () => input.files.length && choose(input.files));
  add.addEventListener("click", upload);
  alt.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    upload();
  });
  for (const button of thumbs.querySelectorAll("button")) button.disabled = false;
  thumbs.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) insert(button.dataset);
  });
  for (const name of ["dragover", "dragleave", "drop"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", name === "dragover");
      if (name === "drop") choose(event.dataTransfer.files);
    });
    // A file that misses the place does not replace the page.
    document.addEventListener(name, (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
  }
}

document.addEventListener("DOMContentLoaded", () => {
  for (const part of document.querySelectorAll("[data-pictures]")) pictures(part);
});
