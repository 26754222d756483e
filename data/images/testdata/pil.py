"""Makes pil.json: what Pillow makes of made pictures, scaled and cropped as torchvision does.

Run it with Python 3 and Pillow (9.4.0 made the file): python3 pil.py > pil.json
"""
import base64
import json

from PIL import Image

cases = []
for width, height, short, crop in [(40, 30, 16, 14), (30, 41, 16, 13), (7, 5, 12, 11), (16, 16, 16, 16), (100, 16, 16, 9),
                                   (3, 90, 10, 10), (1, 1, 5, 4), (301, 199, 8, 7)]:
    pixels = bytes((x * x * 7 + y * 13 + x * y * (c + 3) + c * 85) % 256 for y in range(height) for x in range(width) for c in range(3))
    image = Image.frombytes("RGB", (width, height), pixels)
    if width <= height:
        size = (short, int(short * height / width))
    else:
        size = (int(short * width / height), short)
    image = image.resize(size, Image.BILINEAR)
    left, top = int(round((size[0] - crop) / 2.0)), int(round((size[1] - crop) / 2.0))
    image = image.crop((left, top, left + crop, top + crop))
    cases.append({"width": width, "height": height, "short": short, "crop": crop, "pixels": base64.b64encode(image.tobytes()).decode()})
print(json.dumps(cases, indent=1))
